"""Where rows come from: memory, files, databases, streams."""
