/** The style sheet of views that load later: asked for with the first of them, so that none is drawn without its looks. */

const wait = (link: HTMLLinkElement): Promise<void> =>
  new Promise(resolve => {
    link.addEventListener('load', () => resolve(), { once: true })
    // A view without its looks is still better than none.
    link.addEventListener('error', () => resolve(), { once: true })
  })

export const loadLazyCss = (): Promise<void> => {
  const known = document.querySelector<HTMLLinkElement>('link[data-lazy]')
  if (known) return known.sheet ? Promise.resolve() : wait(known)
  const name = document.querySelector<HTMLMetaElement>('meta[name="lazy-style"]')?.content
  if (!name) return Promise.resolve()
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = name
  link.dataset.lazy = ''
  document.head.append(link)
  return wait(link)
}
