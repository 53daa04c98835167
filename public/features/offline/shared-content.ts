/** Puts what another app shared into the composer of a new chat. Nothing is sent by itself. */
import type { Page } from '../../app.ts'
import { SHARED_CACHE, sharedKey } from '../../sw/shared.ts'
import { t } from './strings.ts'

/** Title, text and address, each once and on lines of their own. */
const textOf = (form: FormData): string => {
  const fields = ['title', 'text', 'url'].map(name => form.get(name))
  const parts = fields
    .filter(part => typeof part === 'string')
    .map(part => part.replaceAll('\r\n', '\n').trim())
  return parts
    .filter(
      (part, at) =>
        part !== '' && !parts.some((other, place) => place > at && other.includes(part)),
    )
    .join('\n')
}

const filesOf = (form: FormData): File[] =>
  form.getAll('files').filter(file => file instanceof File && file.size > 0) as File[]

/** Given to the service worker. */
const storedForm = async (base: string): Promise<FormData | null> => {
  const cache = await caches.open(SHARED_CACHE)
  const response = await cache.match(sharedKey(base))
  if (!response) return null
  const form = await response.formData()
  await cache.delete(sharedKey(base))
  return form
}

/** Given to the server, which put the text into the address. */
const fragmentForm = (hash: string): FormData => {
  const form = new FormData()
  for (const [name, value] of new URLSearchParams(hash.slice(1))) form.set(name, value)
  if ([...form].length === 0) form.set('missing', '1')
  return form
}

export const takeShared = async (page: Page): Promise<void> => {
  if (!new URL(location.href).searchParams.has('shared')) return
  const form = (await storedForm(page.shell.base)) ?? fragmentForm(location.hash)
  // The new chat may be another one by now.
  const app = page.active.peek()
  history.replaceState(null, '', app.shell.base)
  if (form.has('missing')) app.shell.toasts.show(t('shared.missing'), { kind: 'error' })
  const text = textOf(form)
  const draft = app.composer.draft.text.value.trimEnd()
  if (text) app.composer.draft.edit([draft, text].filter(Boolean).join('\n\n'))
  const files = filesOf(form)
  if (files.length === 0) return
  // Any page can send a form here, and attaching uploads: the person decides.
  app.shell.layout.confirmation.value = {
    title: t('shared.title'),
    text: t('shared.text', {
      count: files.length,
      names: files.map(({ name }) => name),
    }),
    confirm: t('shared.add'),
    run: () => app.composer.attachments.add(files),
  }
}
