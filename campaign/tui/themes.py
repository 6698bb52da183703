"""The themes: dark and light, calm, with colour only where it says something; and none at all."""

from textual.theme import Theme

DARK = Theme(
    name="campaign-dark",
    primary="#7aa2f7",
    secondary="#7dcfff",
    accent="#7aa2f7",
    success="#9ece6a",
    warning="#e0af68",
    error="#f7768e",
    foreground="#c8ccd8",
    background="#16181f",
    surface="#16181f",
    panel="#20232e",
    boost="#20232e",
    dark=True,
    variables={
        "quiet": "#8a90a6",
        "border": "#7aa2f7",
        "border-blurred": "#3b4052",
        "block-cursor-background": "#2c3a5f",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "none",
        "footer-background": "#20232e",
        "footer-key-foreground": "#7aa2f7",
        "footer-description-foreground": "#9aa0b4",
    },
)

LIGHT = Theme(
    name="campaign-light",
    primary="#2355b5",
    secondary="#0a6e8a",
    accent="#2355b5",
    success="#2f6f1e",
    warning="#8a5a00",
    error="#b0213d",
    foreground="#22252e",
    background="#fafafa",
    surface="#fafafa",
    panel="#ebedf2",
    boost="#ebedf2",
    dark=False,
    variables={
        "quiet": "#666c7d",
        "border": "#2355b5",
        "border-blurred": "#b9bfcc",
        "block-cursor-background": "#cfdcf7",
        "block-cursor-foreground": "#000000",
        "block-cursor-text-style": "none",
        "footer-background": "#ebedf2",
        "footer-key-foreground": "#2355b5",
        "footer-description-foreground": "#555b6b",
    },
)

PLAIN = Theme(
    name="campaign-plain",
    ansi=True,
    primary="ansi_default",
    secondary="ansi_default",
    warning="ansi_default",
    error="ansi_default",
    success="ansi_default",
    accent="ansi_default",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    variables={
        "block-cursor-foreground": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "reverse",
    },
)
"""For terminals where NO_COLOR is set: the terminal's own two colours and nothing else."""
