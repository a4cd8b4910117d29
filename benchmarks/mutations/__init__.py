"""Would the tests notice? Change one operator or number at a time, and run the tests that concern it."""
