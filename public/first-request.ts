/** A script of its own, run while the page's code is still being downloaded: requests the messages of the chat in the address, which the code would request when it runs. */
import { ACCOUNT_HEADER } from '../lib/base/page-headers.ts'
import { PAGE_SIZE } from './features/chat/page-size.ts'

export type FirstRequest = { url: string; response: Promise<Response> }

const request = (): FirstRequest | undefined => {
  const base = new URL(document.baseURI)
  const [, id] = /^session\/([\w.-]+)$/.exec(location.pathname.slice(base.pathname.length)) ?? []
  if (!id) return undefined
  const url = new URL('api/session', base)
  url.searchParams.set('session_id', id)
  url.searchParams.set('limit', `${PAGE_SIZE}`)
  const { account = '' } = document.documentElement.dataset
  const response = fetch(url, { credentials: 'include', headers: { [ACCOUNT_HEADER]: account } })
  // The code that takes it handles the failure.
  response.catch(() => undefined)
  return { url: url.href, response }
}

// The page's code may have come first, and requested it.
if (!('firstRequest' in window)) Object.assign(window, { firstRequest: request() })
