/** The Content-Disposition header (RFC 6266), with an ASCII fallback of the file name. */

/** Percent-encodes as RFC 8187 requires: encodeURIComponent leaves `!'()*` as they are. */
const percentEncode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    letter => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const toAscii = (name: string): string => {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  if (/[A-Za-z0-9]/.test(plain.replace(/\.[^.]*$/, ''))) return plain
  return `download${/\.[A-Za-z0-9]{1,12}$/.exec(plain)?.[0] ?? ''}`
}

export const contentDisposition = (kind: 'inline' | 'attachment', name: string): string => {
  const wellFormed = name.toWellFormed()
  return `${kind}; filename="${toAscii(wellFormed)}"; filename*=UTF-8''${percentEncode(wellFormed)}`
}
