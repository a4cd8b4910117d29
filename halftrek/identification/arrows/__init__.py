"""What the arrows alone identify, whatever the equations are."""
