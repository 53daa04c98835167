/** A script of its own, run while the page's code is still being downloaded: requests what the code would request when it runs, the settings and the messages of the chat in the address. */
import { ACCOUNT_HEADER } from '../lib/base/page-headers.ts'
import { PAGE_SIZE } from './features/messages/page-size.ts'

/** The responses by URL. */
export type FirstRequests = Map<string, Promise<Response>>

const base = new URL(document.baseURI)

const sessionUrl = (): URL | undefined => {
  const [, id] = /^session\/([\w.-]+)$/.exec(location.pathname.slice(base.pathname.length)) ?? []
  if (!id) return undefined
  const url = new URL('api/session', base)
  url.searchParams.set('session_id', id)
  url.searchParams.set('limit', `${PAGE_SIZE}`)
  return url
}

const request = (url: URL): Promise<Response> => {
  const { account = '' } = document.documentElement.dataset
  const response = fetch(url, { credentials: 'include', headers: { [ACCOUNT_HEADER]: account } })
  // The code that takes it handles the failure.
  response.catch(() => undefined)
  return response
}

const requests = (): FirstRequests =>
  new Map(
    [sessionUrl(), new URL('api/settings', base)]
      .filter(url => url !== undefined)
      .map(url => [url.href, request(url)]),
  )

// The page's code may have come first, and requested it.
if (!('firstRequests' in window)) Object.assign(window, { firstRequests: requests() })
