/** Loads a style sheet of lazily loaded views, so that no view renders without its styles: `lazy`, or one of its own for a large part. */

const wait = (link: HTMLLinkElement): Promise<void> =>
  new Promise(resolve => {
    link.addEventListener('load', () => resolve(), { once: true })
    const onError = () => {
      // So that the next view requests it again.
      link.remove()
      // An unstyled view is better than none.
      resolve()
    }
    link.addEventListener('error', onError, { once: true })
  })

export const loadLazyCss = (sheet = 'lazy'): Promise<void> => {
  const inPage = sheet === 'lazy' ? ', link[data-lazy="page"]' : ''
  const existing = document.querySelector<HTMLLinkElement>(`link[data-lazy="${sheet}"]${inPage}`)
  // In the page itself it is only loaded, so that it holds nothing up (`build/browser.mjs`).
  if (existing) existing.media = 'all'
  if (existing?.sheet) return Promise.resolve()
  // Once the page is complete, the one in it could not be loaded.
  if (existing && !(existing.dataset.lazy === 'page' && document.readyState === 'complete'))
    return wait(existing)
  existing?.remove()
  const name = document.querySelector<HTMLMetaElement>(`meta[name="${sheet}-style"]`)?.content
  if (!name) return Promise.resolve()
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = name
  link.dataset.lazy = sheet
  document.head.append(link)
  return wait(link)
}
