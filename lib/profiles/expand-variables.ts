/** `${NAME}` inside the strings of config.yaml stands for a variable of the home; an unknown name stays as written. */
import { isObjectOrArray } from '../base/json.ts'

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** A copy with every string expanded once; what a variable contains is never expanded again. */
export const expandVariables = (value: unknown, env: Readonly<Record<string, string>>): unknown => {
  if (typeof value === 'string')
    return value.includes('${')
      ? value.replace(REFERENCE, (whole, name: string) =>
          Object.hasOwn(env, name) ? (env[name] ?? '') : whole,
        )
      : value
  if (Array.isArray(value)) return value.map(item => expandVariables(item, env))
  if (!isObjectOrArray(value) || value instanceof Date) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, expandVariables(item, env)]),
  )
}
