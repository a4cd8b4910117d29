"""No model lies outside: branch and bound over boxes of the free coordinates."""
