"""Dispatch: brings accepted messages to the operators and takes in their answers, in a lane for each connector."""
