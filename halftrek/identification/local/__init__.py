"""Parameters and questions at a random point: ranks, directions, witnesses."""
