/**
 * Trusted Types: the CSP (lib/http/headers.ts) requires them, so markup is created only here. Imported
 * by lazy chunks only; browsers without Trusted Types use the text as it is.
 */
type Rules = {
  createHTML: (text: string) => string | null
  createScriptURL?: (url: string) => string | null
}
type Factory = {
  createPolicy: (
    name: string,
    rules: Rules,
  ) => { createHTML: (text: string) => string; createScriptURL: (url: string) => string }
}

const { trustedTypes } = globalThis as { trustedTypes?: Factory }

const own = trustedTypes?.createPolicy('agent-webui', {
  createHTML: text => text,
  // The only script that the page names by a URL.
  createScriptURL: url => (url === new URL('sw.js', document.baseURI).href ? url : null),
})

/** For the registration of the service worker. */
export const workerUrl = (url: string): string => own?.createScriptURL(url) ?? url

/** For parsers whose result is sanitized, and for frames without scripts. */
export const trustedHtml = (text: string): string => own?.createHTML(text) ?? text

/** Number of running calls of libraries that write markup themselves. */
const trusting = { count: 0 }

trustedTypes?.createPolicy('default', { createHTML: text => (trusting.count > 0 ? text : null) })

/** Allows markup while a library without Trusted Types support renders. */
export const withTrust = async <T>(work: () => Promise<T>): Promise<T> => {
  trusting.count += 1
  try {
    return await work()
  } finally {
    trusting.count -= 1
  }
}
