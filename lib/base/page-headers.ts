/** Headers that the page, its service worker, and the server agree on. */

/** Of a request: whose page makes it; its value is `accountOf` of lib/people/sign-ins.ts. */
export const ACCOUNT_HEADER = 'x-agent-account'

/** Of a reply: the service worker stored it at that time, in milliseconds since 1970. */
export const STORED_HEADER = 'x-stored'

/** Of a request of the list of cells: for whom the page was made. */
export const VISITOR_HEADER = 'x-agent-visitor'
