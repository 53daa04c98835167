/** Looks into what a provider wrote without trusting any of it. */

export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0

export const list = (value: unknown): Json[] => (Array.isArray(value) ? value.filter(isJson) : [])

/** An object, or an empty one. */
export const fields = (value: unknown): Json => (isJson(value) ? value : {})
