"""What every implementation of a port must do, told once and run against each."""
