"""What the page's processes do: one function for each kind of request, from a body to a record or a file."""
