"""Posts callbacks to customers' receivers: the port `WebhookSender`, inside this process or in one of its own."""
