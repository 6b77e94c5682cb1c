"""From accepted messages to the operators' answers: a lane for each connector."""
