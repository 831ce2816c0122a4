"""The wire's vocabulary, pure: fields, messages, targets, dates, structured fields, codings (RFC 9110, 9651)."""
