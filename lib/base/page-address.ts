/** The address under which people open the page, as they type it. */

/** With `/` at the end, so that relative addresses can be appended, and nothing that belongs to one request or person. */
export const isPageAddress = (text: string): boolean => {
  if (!/^https?:\/\/[^\s/?#@]+\/(?:[^\s?#]*\/)?$/.test(text)) return false
  return URL.canParse(text)
}
