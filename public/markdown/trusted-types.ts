/**
 * Trusted Types: our policy (lib/http/headers.ts) lets no text become markup, except what comes through here. It is
 * imported by late chunks only; browsers without Trusted Types take the text as it is.
 */
type Rules = { createHTML: (text: string) => string | null }
type Factory = {
  createPolicy: (name: string, rules: Rules) => { createHTML: (text: string) => string }
}

const { trustedTypes } = globalThis as { trustedTypes?: Factory }

const own = trustedTypes?.createPolicy('agent-webui', { createHTML: text => text })

/** For a parser whose tree is cleaned before it is used, and for a frame that runs nothing. */
export const trustedHtml = (text: string): string => own?.createHTML(text) ?? text

/** How many libraries that write markup themselves are at work. */
const trusting = { count: 0 }

trustedTypes?.createPolicy('default', { createHTML: text => (trusting.count > 0 ? text : null) })

/** While a library draws that knows no Trusted Types. */
export const withTrust = async <T>(work: () => Promise<T>): Promise<T> => {
  trusting.count += 1
  try {
    return await work()
  } finally {
    trusting.count -= 1
  }
}
