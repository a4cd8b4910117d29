"""The answer as a function of edges that are held: equations, walks around poles, crossings."""
