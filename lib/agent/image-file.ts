/** Recognizes an image by its first bytes, and reads its size in pixels from its header. */

/** The formats that providers accept, by media type, with the file extension. */
const ENDINGS = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/gif': 'gif',
  'image/webp': 'webp',
} as const

export type ImageType = keyof typeof ENDINGS

export type ImageFile = { type: ImageType; ending: string; width: number; height: number }

/** Names and declared types are unreliable. */
export const imageType = (bytes: Buffer): ImageType | null => {
  const head = bytes.subarray(0, 12).toString('latin1')
  if (head.startsWith('\u0089PNG\r\n\u001a\n')) return 'image/png'
  if (head.startsWith('\u00ff\u00d8\u00ff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  return head.startsWith('RIFF') && head.slice(8, 12) === 'WEBP' ? 'image/webp' : null
}

/** Other formats by their first bytes, to be named; null: no known image. */
export const otherImageFormat = (bytes: Buffer): string | null => {
  const head = bytes.subarray(0, 16).toString('latin1')
  const brand = head.slice(4, 8) === 'ftyp' ? head.slice(8, 12) : ''
  if (/^(?:hei[cxms]|hev[cx]|mif1|msf1)$/.test(brand)) return 'HEIC'
  if (/^avi[fs]$/.test(brand)) return 'AVIF'
  if (/^(?:II\*\0|MM\0\*)/.test(head)) return 'TIFF'
  if (head.startsWith('BM')) return 'BMP'
  if (head.startsWith('\0\0\x01\0')) return 'ICO'
  return /^(?:\xff\x0a|\0\0\0\x0cJXL )/.test(head) ? 'JPEG XL' : null
}

/** The media type of a file that was named by `ENDINGS`. */
export const typeOfFile = (name: string): ImageType =>
  (Object.keys(ENDINGS) as ImageType[]).find(type => name.endsWith(`.${ENDINGS[type]}`)) ??
  'image/png'

/** Null when this is no PNG, JPEG, GIF or WebP image, or its header is damaged. */
export const readImageFile = (bytes: Buffer): ImageFile | null => {
  const type = imageType(bytes)
  if (type === null) return null
  const size = imageSize(type, bytes)
  return size && size.width > 0 && size.height > 0 ? { type, ending: ENDINGS[type], ...size } : null
}

type Size = { width: number; height: number }

const imageSize = (type: ImageType, bytes: Buffer): Size | null => {
  try {
    if (type === 'image/png')
      return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    if (type === 'image/gif') return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
    return type === 'image/jpeg' ? jpegSize(bytes) : webpSize(bytes)
  } catch (error) {
    // The file ends within its header.
    if (error instanceof RangeError) return null
    throw error
  }
}

/** The frame header (ITU-T T.81, B.2.2) follows other segments, such as a preview. */
const jpegSize = (bytes: Buffer): Size | null => {
  let at = 2
  for (;;) {
    if (bytes.readUInt8(at) !== 0xff) return null
    const marker = bytes.readUInt8(at + 1)
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)
    if (isFrame) return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) }
    // Padding has no length.
    at += marker === 0xff ? 1 : 2 + bytes.readUInt16BE(at + 2)
  }
}

/** The first chunk is lossy (RFC 6386, 9.1), lossless, or the extended header (RFC 9649). */
const webpSize = (bytes: Buffer): Size | null => {
  const chunk = bytes.toString('latin1', 12, 16)
  if (chunk === 'VP8X')
    return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (chunk === 'VP8 ')
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  if (chunk !== 'VP8L') return null
  const bits = bytes.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}
