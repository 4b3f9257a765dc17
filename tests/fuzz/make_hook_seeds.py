#!/usr/bin/env python3
"""Makes tests/fuzz/hook_keys.h and the seeds of fuzz_hook_sns, fuzz_hook_gcs, fuzz_hook_azure,
fuzz_hook_s3, fuzz_hook_cloudevents, fuzz_jwt and fuzz_base64 again.

The key is made anew by openssl and thrown away, so that nothing else can ever be signed with it. All of
it is in the tree, so this runs only when a seed is added."""
import base64, json, os, re, subprocess, tempfile

here = os.path.dirname(os.path.abspath(__file__))
tmp = tempfile.mkdtemp()
key, crt = os.path.join(tmp, "key"), os.path.join(tmp, "crt")

TOPIC = "arn:aws:sns:us-east-1:123456789012:maps"
MESSAGE_ID = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
CONFIRM = "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=" + TOPIC + "&Token=23"
AUDIENCE, EMAIL = "https://e.example/hooks/maps", "push@p.iam.gserviceaccount.com"
SECRET = "a secret of 24 chars .."


def run(*args, data=None):
    return subprocess.run(args, input=data, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def sign(text, digest):
    return run("openssl", "dgst", "-" + digest, "-sign", key, data=text.encode())


def url64(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def put(target, name, body, *headers):
    folder = os.path.join(here, "seeds", target)
    os.makedirs(folder, exist_ok=True)
    lines = "".join(h + "\n" for h in headers) + ("\n" if target.startswith("hook_") else "")
    with open(os.path.join(folder, name), "w", newline="") as f:
        f.write(lines + (body if isinstance(body, str) else json.dumps(body)))


run("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", crt, "-days", "36500",
    "-subj", "/CN=sns.example")
pem = open(crt).read()
modulus = run("openssl", "x509", "-in", crt, "-noout", "-modulus").decode().strip().split("=")[1]

# ---- tokens ---------------------------------------------------------------------------------------
jwk = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1", "n": url64(bytes.fromhex(modulus)), "e": "AQAB"}
key_set = json.dumps({"keys": [jwk]})
claims = {"iss": "https://accounts.google.com", "aud": AUDIENCE, "email": EMAIL, "email_verified": True,
          "iat": 1779999990, "exp": 1780003590}


def token(header, body, signed=True):
    text = url64(json.dumps(header).encode()) + "." + url64(json.dumps(body).encode())
    return text + "." + (url64(sign(text, "sha256")) if signed else "")


good = token({"alg": "RS256", "kid": "k1", "typ": "JWT"}, claims)
put("jwt", "good", key_set + "\n" + good)
put("jwt", "none", key_set + "\n" + token({"alg": "none"}, claims, False))
put("jwt", "hs256", key_set + "\n" + url64(b'{"alg":"HS256"}') + good[good.index("."):])
put("jwt", "pem", "-----BEGIN CERTIFICATE----- x -----END CERTIFICATE-----\n" + good)
put("jwt", "by_kid", json.dumps({"k1": pem}) + "\n" + good)
put("jwt", "doubled", key_set + "\n" + url64(b'{"alg":"RS256","alg":"none"}') + good[good.index("."):])

# ---- gcs ------------------------------------------------------------------------------------------
bearer, as_json = "HTTP_AUTHORIZATION=Bearer " + good, "CONTENT_TYPE=application/json"
attributes = {"bucketId": "maps", "objectId": "a b.zip", "objectGeneration": "1587627537231057",
              "eventType": "OBJECT_FINALIZE", "payloadFormat": "JSON_API_V1", "eventTime": "2026-05-28T20:26:30Z"}


def pushed(**more):
    return {"message": {"data": "e30=", "messageId": "1369", "publishTime": "2026-05-28T20:26:31Z",
                        "attributes": {**attributes, **more}}, "subscription": "projects/p/subscriptions/s"}


put("hook_gcs", "finalize", pushed(), bearer, as_json)
put("hook_gcs", "delete", pushed(eventType="OBJECT_DELETE"), bearer, as_json)
put("hook_gcs", "overwritten", pushed(eventType="OBJECT_DELETE", overwrittenByGeneration="9"), bearer, as_json)
put("hook_gcs", "bare", {"message": {"messageId": "1"}}, "HTTP_AUTHORIZATION=Basic x", as_json)

# ---- s3 -------------------------------------------------------------------------------------------
record = {"eventVersion": "2.1", "eventSource": "aws:s3", "eventTime": "2026-05-28T20:26:30.000Z",
          "eventName": "ObjectCreated:Put", "responseElements": {"x-amz-request-id": "C3D1"},
          "s3": {"bucket": {"name": "maps"}, "object": {"key": "red+flower%C3%A9.zip", "size": 5,
                 "versionId": "v1", "sequencer": "0055AED6DCD90281E5"}}}
bridge = {"version": "0", "id": "1779", "detail-type": "Object Deleted", "source": "aws.s3",
          "time": "2026-05-28T20:26:30Z", "detail": {"bucket": {"name": "maps"}, "object": {"key": "a b",
          "sequencer": "00617F08299329D189", "version-id": "v2"}, "reason": "DeleteObject"}}
test = {"Service": "Amazon S3", "Event": "s3:TestEvent", "Time": "2014-10-13T15:57:02.089Z", "RequestId": "5582"}
known = "HTTP_X_API_KEY=" + SECRET
put("hook_s3", "records", {"Records": [record, {**record, "eventName": "ObjectRemoved:Delete"}]}, known)
put("hook_s3", "bridge", bridge, known)
put("hook_s3", "list", [bridge, bridge], known)
put("hook_s3", "test", test, "HTTP_X_API_KEY=x")
put("hook_s3", "doubled", '{"Records":[],"Records":[{}]}', known)

# ---- sns ------------------------------------------------------------------------------------------
message = {"Type": "Notification", "MessageId": MESSAGE_ID, "TopicArn": TOPIC, "Subject": "s",
           "Message": json.dumps({"Records": [record]}), "Timestamp": "2026-05-28T20:26:00.000Z"}
wanted = {**message, "Type": "SubscriptionConfirmation", "Token": "23", "SubscribeURL": CONFIRM}
del wanted["Subject"]


def signed(m, version):
    text = "".join(k + "\n" + m[k] + "\n" for k in sorted(m))
    sig = base64.b64encode(sign(text, "sha1" if version == "1" else "sha256")).decode()
    return {**m, "SignatureVersion": version, "Signature": sig,
            "SigningCertURL": "https://sns.us-east-1.amazonaws.com/SimpleNotificationService-f3.pem"}


put("hook_sns", "v1", signed(message, "1"))
put("hook_sns", "v2", signed(message, "2"))
put("hook_sns", "subscribe", signed(wanted, "2"))
put("hook_sns", "unsubscribe", {**signed(wanted, "2"), "Type": "UnsubscribeConfirmation"})
put("hook_sns", "plain", {**signed(message, "2"), "Message": "look\nhere"})
put("hook_sns", "host", {**signed(message, "2"), "SigningCertURL": "https://sns.a.amazonaws.com@e.example/x.pem"})

# ---- azure, cloudevents -----------------------------------------------------------------------------
event = {"topic": "/subscriptions/x/storageAccounts/maps", "subject": "/blobServices/default/containers/c/blobs/a",
         "eventType": "Microsoft.Storage.BlobCreated", "id": "831e", "eventTime": "2026-05-28T20:26:30.0000000Z",
         "data": {"eTag": "0x8D4", "sequencer": "00000000000004420000000000028963"}, "dataVersion": ""}
validation = {"id": "2d17", "topic": "/t", "subject": "", "data": {"validationCode": "512d38b6"},
              "eventType": "Microsoft.EventGrid.SubscriptionValidationEvent", "eventTime": "2026-05-28T20:26:30Z"}
cloud = {"specversion": "1.0", "id": "e1", "source": "https://e.example/maps", "type": "a", "subject": "counties",
         "time": "2026-05-28T20:26:30Z", "sequence": "42", "sequencetype": "Integer", "data": {"x": [1, None]}}
storage = {**cloud, "type": "Microsoft.Storage.BlobDeleted", "data": event["data"]}
aeg, one, batch = "HTTP_AEG_SAS_KEY=" + SECRET, "application/cloudevents+json", "application/cloudevents-batch+json"
put("hook_azure", "events", [event, {**event, "eventType": "Microsoft.Storage.BlobDeleted"}], aeg, as_json)
put("hook_azure", "validation", [validation], aeg, as_json)
put("hook_azure", "both", [event, validation], aeg, as_json)
put("hook_azure", "cloud", storage, aeg, "CONTENT_TYPE=" + one)
put("hook_azure", "batch", [storage, storage], aeg, "CONTENT_TYPE=" + batch)
put("hook_azure", "shake", "", aeg, "REQUEST_METHOD=OPTIONS", "HTTP_WEBHOOK_REQUEST_ORIGIN=eventgrid.azure.net")
token_line = "HTTP_AUTHORIZATION=Bearer " + SECRET
put("hook_cloudevents", "one", cloud, token_line, "CONTENT_TYPE=" + one)
put("hook_cloudevents", "batch", [cloud, {**cloud, "type": "b"}], token_line, "CONTENT_TYPE=" + batch)
put("hook_cloudevents", "binary", "a,b", token_line, "CONTENT_TYPE=text/csv", "HTTP_CE_SPECVERSION=1.0",
    "HTTP_CE_ID=%E2%82%AC", "HTTP_CE_SOURCE=/s", "HTTP_CE_TYPE=a", "HTTP_CE_SUBJECT=x%20y", "HTTP_CE_SEQUENCE=7",
    "HTTP_CE_TIME=2026-05-28T20:26:30Z")
put("hook_cloudevents", "shake", "", "REQUEST_METHOD=OPTIONS", "HTTP_WEBHOOK_REQUEST_ORIGIN=e.example",
    "HTTP_WEBHOOK_REQUEST_RATE=120")
put("hook_cloudevents", "avro", "x", token_line, "CONTENT_TYPE=application/cloudevents+avro")
for name, text in {"full": "Zm9v", "one": "Zg==", "two": "Zm8=", "url": "-_-_Zg", "bits": "Zh==", "space": "Zm 9v"}.items():
    put("base64", name, text)


# ---- the keys ---------------------------------------------------------------------------------------
def literal(text):
    lines = [text[i:i + 90] for i in range(0, len(text), 90)]
    return "\n".join("    " + json.dumps(line) for line in lines)


with open(os.path.join(here, "hook_keys.h"), "w") as f:
    f.write("/* hook_keys: made by make_hook_seeds.py: the certificate and key that the seeds are signed with,\n"
            " * and what was signed. The private key was thrown away. */\n"
            "#ifndef FRESHET_TESTS_FUZZ_HOOK_KEYS_H\n#define FRESHET_TESTS_FUZZ_HOOK_KEYS_H\n\n")
    for name, text in (("TOPIC", TOPIC), ("MESSAGE_ID", MESSAGE_ID), ("CONFIRM_URL", CONFIRM),
                       ("AUDIENCE", AUDIENCE), ("EMAIL", EMAIL)):
        f.write("#define HOOK_%s %s\n" % (name, json.dumps(text)))
    for name, text in (("certificate", pem), ("key_set", key_set), ("token", good)):
        f.write("\n__attribute__((unused)) static const char hook_%s[] =\n%s;\n" % (name, literal(text)))
    f.write("\n#endif\n")
