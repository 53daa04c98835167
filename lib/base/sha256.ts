/** SHA-256, and comparing what must stay secret. */
import { hash, timingSafeEqual } from 'node:crypto'

/** In hexadecimal digits. */
export const sha256 = (data: string | NodeJS.ArrayBufferView): string => hash('sha256', data)

/** Whether two texts are equal, in a time that tells nothing about them. */
export const isSameSecret = (a: string, b: string): boolean =>
  timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
