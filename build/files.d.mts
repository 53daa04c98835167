/** Of the built file, without its extension. */
export const builtName: (target: string | undefined) => string
