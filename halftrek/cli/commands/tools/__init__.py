"""Commands that ask nothing of a user's data: demonstrations, rows made up, other notations, the page, the shell."""
