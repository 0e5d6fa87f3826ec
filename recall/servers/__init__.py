"""Servers that speak OpenAI's protocol: one call, bounded in time and bytes, its faults named."""

from recall.servers.calls import Server

__all__ = ["Server"]
