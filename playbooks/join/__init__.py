"""Two logs joined on a key, whatever their size.

`blocks` reads a log, `rows` finds keys and values in it, `shelf` holds them in memory or on disk,
`pairing` sets one side against the other, `joining` does all of it. polars does the work: its
regular expressions never go back, so that no log can make one of a user's take for ever
(https://docs.rs/regex/latest/regex/#untrusted-input), and they are checked by it, too. What
imports polars is imported where it is needed: that takes .4 s.
"""
