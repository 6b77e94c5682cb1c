"""What makes the one hot request cheap: `POST /api/v1/messages` and v2 without a task or an ASGI call."""
