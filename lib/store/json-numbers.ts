/** Keeps the numbers of a JSON file that another program owns as well: 1.0 stays 1.0, twenty digits stay twenty. */

type RawJson = { rawJSON: (text: string) => unknown }

/** A reviver for `JSON.parse`: a number that JavaScript would write otherwise is written back as it stood. */
export const preserveNumbers = (
  _key: string,
  value: unknown,
  context?: { source?: string },
): unknown => {
  const source = context?.source
  if (typeof value !== 'number' || source === undefined || String(value) === source) return value
  return (JSON as unknown as RawJson).rawJSON(source)
}
