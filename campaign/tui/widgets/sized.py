"""What is drawn for a size, and drawn anew for another one, whichever way that came about."""

from abc import abstractmethod

from textual.geometry import Size
from textual.scroll_view import ScrollView


class Sized(ScrollView):
    """Has `fit` called whenever there is another size.

    Textual sends no Resize where a widget's place is asked for between a change of style and the
    layout after it, as moving the focus does: the layout then finds the new size to be the old one.
    So the size is looked at after each layout, too.
    """

    _fitted = Size(0, 0)

    def on_mount(self) -> None:
        signal = self.screen.screen_layout_refresh_signal
        signal.subscribe(self, lambda _screen: self._laid_out())

    def on_resize(self) -> None:
        self._laid_out()

    def _laid_out(self) -> None:
        if self.size and self.size != self._fitted:
            self._fitted = self.size
            self.fit()

    @abstractmethod
    def fit(self) -> None:
        """Draws for the size that there is now."""
