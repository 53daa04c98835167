/** Building blocks of the config.yaml schema: fields that accept every usual spelling, and a parser that drops bad values one by one. */
import { z } from 'zod'
import { asObject, isObject, type JsonObject } from '../base/json.ts'
import { yamlFlag } from '../store/yaml-file.ts'

/** What the generated documentation says about a key. */
export type FieldMeta = {
  /** `true or false`, `number above 0`, … */
  type: string
  description: string
  /** As a person would write it; blank when there is none. */
  default: string
  /** Keys below a free-form section, which its own module parses. */
  keys?: Readonly<Record<string, string>>
  /** A key with a protection that is enforced, or refused, in lib/commands/guards. */
  isGuard?: true
}

/** A value of config.yaml that was dropped; its default applies. */
export type ConfigProblem = {
  /** `compression.threshold` */
  key: string
  /** Why, and what applies instead. Never contains the value: it may be a secret in the wrong place. */
  reason: string
}

const isAbsent = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'string' && value.trim() === '')

type FieldOptions<T> = {
  type: string
  description: string
  /** Applies when the key is absent, null, blank or invalid. */
  fallback: T
  /** The default as documentation shows it, where `fallback` alone says too little. */
  defaultLabel?: string
  /** Undefined rejects the value. */
  read: (value: unknown) => T | undefined
}

const field = <T>({ type, description, fallback, defaultLabel, read }: FieldOptions<T>) =>
  z
    .unknown()
    .transform((value, context): T => {
      if (isAbsent(value)) return fallback
      const result = read(value)
      if (result !== undefined) return result
      const defaultText = defaultLabel ?? formatDefault(fallback)
      context.addIssue({
        code: 'custom',
        message: `must be ${type}; ${defaultText === '' ? 'it is ignored' : `the default, ${defaultText}, applies`}`,
      })
      return z.NEVER
    })
    .meta({
      type,
      description,
      default: defaultLabel ?? formatDefault(fallback),
    } satisfies FieldMeta)

const formatDefault = (value: unknown): string =>
  value === undefined || value === null || value === '' ? '' : String(value)

/** `true`, `yes`, `on`, `1` and their opposites, as a boolean, a number or text. */
export const flag = <T extends boolean | undefined>(fallback: T, description: string) =>
  field<boolean | T>({ type: 'true or false', description, fallback, read: yamlFlag })

/** A number, or text that is one: `"90"`, `200_000`. */
const toNumber = (value: unknown): number | undefined => {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return /^[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)
    ? toNumber(Number(text.replaceAll('_', '')))
    : undefined
}

export const number = <T extends number | undefined>(
  fallback: T,
  description: string,
  {
    orZero = false,
    max = Number.MAX_VALUE,
    isWhole = false,
    defaultLabel,
  }: {
    /** Zero is allowed as well. */
    orZero?: boolean
    max?: number
    /** Rounds and keeps at least 1. */
    isWhole?: boolean
    defaultLabel?: string
  } = {},
) =>
  field<number | T>({
    type: `a number ${orZero ? 'not below 0' : 'above 0'}${max < Number.MAX_VALUE ? `, at most ${max}` : ''}`,
    description,
    fallback,
    defaultLabel,
    read: value => {
      const amount = toNumber(value)
      if (amount === undefined || amount > max || (orZero ? amount < 0 : amount <= 0))
        return undefined
      return isWhole ? Math.max(1, Math.round(amount)) : amount
    },
  })

/** Trimmed text. Numbers count as text: YAML reads an unquoted `4.20` as a number. */
export const text = (description: string, defaultLabel?: string) =>
  field<string>({
    type: 'text',
    description,
    fallback: '',
    defaultLabel,
    read: value =>
      typeof value === 'string' || typeof value === 'number' ? String(value).trim() : undefined,
  })

/** Text with its white space. */
export const verbatim = (description: string) =>
  field<string>({
    type: 'text',
    description,
    fallback: '',
    read: value => (typeof value === 'string' ? value : undefined),
  })

/** One of a few words, in any case. `off` and `on` also match the other spellings of a boolean. */
export const word = <const W extends string, const F extends string>(
  words: readonly W[],
  fallback: F,
  description: string,
) =>
  field<W | F>({
    type: `one of ${words.join(', ')}`,
    description,
    fallback,
    read: value => {
      const isOn = yamlFlag(value)
      const word = isOn === undefined ? String(value).trim().toLowerCase() : isOn ? 'on' : 'off'
      return words.find(each => each === word)
    },
  })

/** Names in a list, or in one text with commas or spaces. Null when the key says nothing: an empty list does say something. */
export const names = (description: string, defaultLabel?: string) =>
  field<string[] | null>({
    type: 'a list of names',
    description,
    fallback: null,
    defaultLabel,
    read: value => {
      if (typeof value === 'string') {
        const list = value.split(/[,\s]+/).filter(Boolean)
        return list.length > 0 ? list : null
      }
      if (!Array.isArray(value)) return undefined
      return [...new Set(value.filter(isText).map(name => String(name).trim()))].filter(Boolean)
    },
  })

const isText = (value: unknown): value is string | number =>
  typeof value === 'string' || typeof value === 'number'

/** A value with rules of its own. */
export const custom = field

/** A value that its own module parses, or that is only documented here. */
export const raw = (meta: Omit<FieldMeta, 'default'> & { default?: string }) =>
  z.unknown().meta({ default: '', ...meta } satisfies FieldMeta)

/** A list of texts, taken as written; entries that are none are dropped one by one. */
export const texts = (description: string) =>
  z
    .array(z.string('must be text; it is ignored'))
    .meta({ type: 'a list of texts', description, default: '' } satisfies FieldMeta)

const unquote = (entry: string): string => entry.trim().replace(/^(["'])(.*)\1$/, '$2')

/** The same, or one text with commas: front matter of skills is often written so. */
export const commaTexts = (description: string) =>
  field<readonly string[]>({
    type: 'a list of texts',
    description,
    fallback: NO_TEXTS,
    defaultLabel: '',
    read: value => {
      const entries = Array.isArray(value)
        ? value.filter(isText).map(String)
        : isText(value)
          ? String(value)
              .replace(/^\[|\]$/g, '')
              .split(',')
          : undefined
      return entries?.map(unquote).filter(Boolean)
    },
  })

const NO_TEXTS: readonly string[] = Object.freeze([])

/** A mapping with keys of the person's choosing; bad entries are dropped one by one. */
export const mapping = <T extends z.ZodType>(entry: T, meta: Omit<FieldMeta, 'default'>) =>
  z
    // The parser drops entries that say nothing.
    .record(z.string(), entry as unknown as z.ZodType<NonNullable<z.output<T>>>)
    .meta({ ...meta, default: '' } satisfies FieldMeta)

/** `shorthand`: `checkpoints: false` means `checkpoints: {enabled: false}`, and `tool_search: auto` likewise. */
export const section = <S extends z.ZodRawShape>(shape: S, shorthand?: keyof S & string) =>
  z.object(shape).meta({ shorthand })

const shorthandOf = (schema: z.ZodType): string | undefined => {
  const key = schema.meta()?.shorthand
  return typeof key === 'string' ? key : undefined
}

/** What a section of a wrong shape says, at most by its shorthand. */
const toSection = (schema: z.ZodObject, value: unknown): JsonObject | undefined => {
  if (isObject(value)) return value
  if (isAbsent(value)) return {}
  const shorthand = shorthandOf(schema)
  if (shorthand === undefined) return undefined
  const setting = yamlFlag(value) ?? (typeof value === 'string' ? value : undefined)
  return setting === undefined ? undefined : { [shorthand]: setting }
}

type Walk = (schema: z.ZodType, value: unknown, path: string) => unknown

const DROPPED = Symbol('dropped')

/**
 * Parses tolerantly: a bad value falls back to its default and is reported; everything beside it keeps its value. Unknown
 * keys are ignored, because the file belongs to other programs as well.
 */
export const parseFields = <S extends z.ZodObject>(
  schema: S,
  config: Readonly<JsonObject>,
): { value: z.output<S>; problems: ConfigProblem[] } => {
  const problems: ConfigProblem[] = []
  const report = (key: string, reason: string) => problems.push({ key, reason })

  const walkSection = (one: z.ZodObject, value: unknown, path: string): unknown => {
    const section = toSection(one, value)
    if (section === undefined) report(path, 'must be a mapping; its defaults apply')
    return Object.fromEntries(
      Object.entries(one.shape).map(([key, inner]) => [
        key,
        walk(
          inner as z.ZodType,
          section && Object.hasOwn(section, key) ? section[key] : undefined,
          path === '' ? key : `${path}.${key}`,
        ),
      ]),
    )
  }

  const walkList = (one: z.ZodArray, value: unknown, path: string): unknown[] => {
    if (isAbsent(value)) return []
    if (!Array.isArray(value)) {
      report(path, 'must be a list; it is ignored')
      return []
    }
    return value.flatMap((each, at) => {
      const leaf = walkLeaf(one.element as z.ZodType, each, `${path}[${at}]`)
      return leaf === DROPPED ? [] : [leaf]
    })
  }

  const walkMapping = (one: z.ZodRecord, value: unknown, path: string): unknown => {
    if (!isAbsent(value) && !isObject(value)) report(path, 'must be a mapping; it is ignored')
    return Object.fromEntries(
      Object.entries(asObject(value)).flatMap(([key, each]) => {
        const leaf = walkLeaf(one.valueType as z.ZodType, each, `${path}.${key}`)
        return leaf === DROPPED || leaf === undefined ? [] : [[key, leaf]]
      }),
    )
  }

  const walkLeaf = (one: z.ZodType, value: unknown, path: string): unknown => {
    const result = one.safeParse(value)
    if (result.success) return result.data
    report(path, result.error.issues[0]?.message ?? 'is invalid')
    return DROPPED
  }

  const walk: Walk = (one, value, path) => {
    if (one instanceof z.ZodObject) return walkSection(one, value, path)
    if (one instanceof z.ZodArray) return walkList(one, value, path)
    if (one instanceof z.ZodRecord) return walkMapping(one, value, path)
    const leaf = walkLeaf(one, value, path)
    return leaf === DROPPED ? one.parse(undefined) : leaf
  }

  return { value: walkSection(schema, config, '') as z.output<S>, problems }
}
