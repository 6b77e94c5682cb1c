"""Posts callbacks to customers' receivers: the port `Sender`, inside this process or in one of its own."""
