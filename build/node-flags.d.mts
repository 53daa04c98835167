export const NODE_FLAGS: readonly string[]
export const START_ENV: Readonly<Record<'GLIBC_TUNABLES', string>>
