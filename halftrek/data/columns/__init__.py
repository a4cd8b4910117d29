"""What single columns hold: categories, orders, kinds of numbers, bars."""
