export const PACKAGE_TARGETS: readonly string[]
