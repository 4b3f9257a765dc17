-- The state of an instance without what may differ between two runs that did the same: run ids,
-- attempts, tokens, jitter, hashes that cover run ids, and who came first of different sources. crash.sh
-- replaces run ids by a word.
.headers off
.mode list
SELECT 'source', src_no, spec, retired_at, parent_no, entry FROM sources ORDER BY 2;
SELECT 'state', src_no, etag, last_modified, validator_url, hex(seen_sha), seen_size, failures,
       last_outcome, checked_at, verified_at, next_check_at, cursor FROM source_state ORDER BY 2;
SELECT 'checks', src_no, outcome, count(*) FROM checks GROUP BY 2, 3 ORDER BY 2, 3;
SELECT 'inbox', cand_no, event_id, src_no, outcome, version_hint, absorbed, state, result, reason,
       done_at, lease_owner FROM inbox ORDER BY 2;
SELECT 'ledger', cand_no, src_no, event_id, status, hex(idem_key), version, hex(prev_sha), hex(sha),
       change_type, change_class, delta_id, fin_no > 0, public_seq > 0, reason, finalized_at, run_id,
       deletes, reverted_by
  FROM ledger ORDER BY cand_no, pending_at, status;
SELECT 'run', l.cand_no, r.tool_version, r.rules_version, r.policy_version, r.ended_at, r.qa, r.entry
  FROM runs r JOIN ledger l USING (run_id) ORDER BY 2, l.status;
SELECT 'artifact', hex(sha), tier, size, media_type, created_at FROM artifacts ORDER BY 2, 3;
SELECT 'head', src_no, version, hex(sha), size, media_type, cand_no, promoted_at, deleted FROM heads ORDER BY 2;
SELECT 'delta', l.cand_no, d.delta_id, d.doc FROM deltas d JOIN ledger l USING (run_id) ORDER BY 2;
SELECT 'prov', l.cand_no, p.doc FROM prov_bundles p JOIN ledger l USING (run_id) ORDER BY 2;
SELECT 'item', item_id, src_no, version, doc FROM stac_items ORDER BY 2;
SELECT 'approval', approval_no, event_id, decision, reviewer, note, at FROM approvals ORDER BY 2;
SELECT 'rollback', rollback_no, src_no, run_id, state, cand_no, detail FROM rollbacks ORDER BY 2;
SELECT 'block', src_no, hex(sha), at, lifted_at, run_id FROM blocks ORDER BY 2, 3;
SELECT 'order', src_no, group_concat(version || ':' || ifnull(public_seq > 0, 0))
  FROM (SELECT * FROM ledger WHERE fin_no > 0 ORDER BY fin_no) GROUP BY 2 ORDER BY 2;
SELECT 'log', src_no, group_concat(kind)
  FROM (SELECT * FROM replay_log WHERE src_no > 0 ORDER BY seq) GROUP BY 2 ORDER BY 2;
SELECT 'replay', at, kind, src_no, ref, json_remove(body, '$.seq') FROM replay_log ORDER BY 4, seq;
SELECT 'outbox', kind, json_remove(body, '$.seq'), sent_at FROM outbox ORDER BY 3;
SELECT 'public', last_seq, first_seq FROM public_meta;
SELECT 'shown of', src_no, count(*), group_concat(doc ->> '$.object_identity.version')
  FROM (SELECT * FROM public_changes ORDER BY seq) GROUP BY 2 ORDER BY 2;
SELECT 'change', event_id, src_no, finalized_at, doc FROM public_changes ORDER BY 2, 5;
SELECT 'shown', source_id, collection, doc FROM public_sources ORDER BY 2;
SELECT 'fresh', source_id, level, held, retired, updated_at, removed_at, identity, delta_id, qa_status
  FROM public_freshness ORDER BY 2;
SELECT 'checked', src_no, checked_at, reached_at, failures, last_outcome FROM public_checks ORDER BY 2;
SELECT 'pitem', item_id, collection, doc FROM public_items ORDER BY 2;
SELECT 'box', i.item_id, b.west, b.east, b.south, b.north FROM public_items_box b JOIN public_items i USING (item_no) ORDER BY 2;
SELECT 'collection', collection, doc FROM public_collections ORDER BY 2;
SELECT 'pprov', src_no, doc FROM public_prov ORDER BY 2, 3;
SELECT 'pdelta', src_no, doc FROM public_deltas ORDER BY 2, 3;
SELECT 'asset', hex(sha), src_no, size, media_type, run_id FROM public_assets ORDER BY 2, 3;
