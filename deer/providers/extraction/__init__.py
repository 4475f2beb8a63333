"""The text of what was fetched: web pages, PDF and Word documents, tables and plain texts.

Run as a program (`-m deer.providers.extraction`) it is what `extractor` keeps processes of, for what strangers wrote;
its functions also serve folders that a person named.
"""
