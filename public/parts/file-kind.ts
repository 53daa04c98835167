/** Path helpers, and formatting of sizes. */
import { pageLocale } from '../strings/t.ts'

export const IMAGES = ['png', 'jpg', 'jpeg', 'gif', 'webp', 'avif', 'bmp', 'ico', 'svg']

export const AUDIO = ['mp3', 'wav', 'ogg', 'oga', 'opus', 'm4a', 'flac', 'aac']
export const VIDEO = ['mp4', 'webm', 'ogv', 'mov', 'm4v']

export const fileName = (path: string): string => path.split('/').at(-1) || path

export const directoryOf = (path: string): string =>
  path.slice(0, Math.max(0, path.lastIndexOf('/')))

export const joinPath = (directory: string, name: string): string =>
  directory ? `${directory}/${name}` : name

/** Lowercase, without the dot; empty for dotfiles such as `.env`. */
export const extensionOf = (path: string): string => {
  const name = fileName(path)
  const dot = name.lastIndexOf('.')
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : ''
}

/** Shown by an `<img>` element, in which an SVG runs no script. */
export const isImagePath = (path: string): boolean => IMAGES.includes(extensionOf(path))

/** The language label for `highlight.ts`. */
export const languageOf = (path: string): string => {
  const name = fileName(path).toLowerCase()
  if (name === 'dockerfile' || name === 'makefile') return name
  return extensionOf(path)
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte'] as const

export const formatBytes = (bytes: number, locale = pageLocale()): string => {
  const step = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  const value = bytes / 1000 ** step
  const maximumFractionDigits = step === 0 || value >= 100 ? 0 : 1
  return value.toLocaleString(locale, {
    style: 'unit',
    unit: UNITS[step]!,
    // The short form of a byte has no plural: "12 byte".
    unitDisplay: step === 0 ? 'long' : 'short',
    maximumFractionDigits,
  })
}
