"""The keys that rows are sealed with, by AES-256-GCM of the library `cryptography`
([decision 30](../../../docs/decisions/0030-encryption-at-rest.md))."""
