-- 006: a source that was never checked is in fewer indexes. Registering enters each of them, a million
-- times in a large import.

-- The same sources as public_checks_unchecked, but for withheld ones, which are looked through anyway.
DROP INDEX source_unchecked;
-- Only bytes that were read have a date; asking for old ones (verified_at < ?) never means the others.
DROP INDEX public_checks_verified;
CREATE INDEX public_checks_verified ON public_checks (verified_at, retired) WHERE verified_at IS NOT NULL;
