/** UTF-16 code units of a draft that the server stores. A longer one stays in the browser that it was written in. */
export const MAX_DRAFT_CHARS = 50_000
