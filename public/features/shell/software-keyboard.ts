/** Room for the keyboard of a phone. Browsers that know `interactive-widget` make the page smaller; iOS puts its keyboard over the page and scrolls. */
export const followKeyboard = (root: HTMLElement): void => {
  const view = window.visualViewport
  view?.addEventListener('resize', () => {
    // A page that is zoomed in shows less, too.
    const covered = view.scale > 1.01 ? 0 : Math.max(0, Math.round(innerHeight - view.height))
    root.style.setProperty('--keyboard', `${covered}px`)
    if (covered > 0) scrollTo(0, 0)
  })
}
