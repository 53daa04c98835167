/** Expands `${NAME}` in the strings of config.yaml with variables of the home. Unknown names stay as written. */
import { isObjectOrArray } from './json.ts'

const REFERENCE = /\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g

/** Returns a copy. Expansion is not recursive: values of variables are not expanded. */
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
