/* hook_keys: made by make_hook_seeds.py: the certificate and key that the seeds are signed with,
 * and what was signed. The private key was thrown away. */
#ifndef FRESHET_TESTS_FUZZ_HOOK_KEYS_H
#define FRESHET_TESTS_FUZZ_HOOK_KEYS_H

#define HOOK_TOPIC "arn:aws:sns:us-east-1:123456789012:maps"
#define HOOK_MESSAGE_ID "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
#define HOOK_CONFIRM_URL                                                                           \
    "https://sns.us-east-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=arn:aws:sns:us-east-1:123456789012:maps&Token=23"
#define HOOK_AUDIENCE "https://e.example/hooks/maps"
#define HOOK_EMAIL "push@p.iam.gserviceaccount.com"

__attribute__((unused)) static const char hook_certificate[] =
    "-----BEGIN CERTIFICATE-----\nMIIDDzCCAfegAwIBAgIUPG5nsqzRmw8tFzCBe8R4EhHBhdkwDQYJKoZIhvcNAQ"
    "EL\nBQAwFjEUMBIGA1UEAwwLc25zLmV4YW1wbGUwIBcNMjYxMTE4MjA0NzEyWhgPMjEy\nNjEwMjUyMDQ3MTJaMBYxFD"
    "ASBgNVBAMMC3Nucy5leGFtcGxlMIIBIjANBgkqhkiG\n9w0BAQEFAAOCAQ8AMIIBCgKCAQEApBvLoaNQwrw2vrn5El6"
    "MCHp646LBZGRo7kr3\nlvaOU8GVJ6pAKNOFjdsgijcJg0pL8F0i6IXLmUUuQOhCAiBr39bBeNsuZAtbz53v\nDVu0jDF"
    "/7Q6T6jrNZgVI6wlPzP8otctMRnvruKv2R00A/bokgNnVzbq3/Qz2tCmt\nL8x6DJpS407XwBTVIMUC3EGHKwDCfh/a"
    "7WK4C/oG0ADzX2WlmpVCP6Q9JG8onJYr\n93L4Z/lDddNi3W77WCAfsH2tS012v7BDy26KHF8z8sfqJ7dFPwALNW6dJ"
    "gtpqSIA\n1J4sH0OTzPwsIoIKNNxrM6XqiMK1X3B0xMaUtp+P8pJhoq9O/QIDAQABo1MwUTAd\nBgNVHQ4EFgQU1sqIM"
    "4Y2oADltnCvUfHin/+20e4wHwYDVR0jBBgwFoAU1sqIM4Y2\noADltnCvUfHin/+20e4wDwYDVR0TAQH/BAUwAwEB/z"
    "ANBgkqhkiG9w0BAQsFAAOC\nAQEAVrvBq2hBov0bjForwdvHm47vfJQUJt/vNCyJvTB5N34Wr7V+dtPBJp2FWCAD\nKS"
    "uxxZEJp8pu5S0tt4zhj9RAAM+Co7fCm7RbWWrsUzzxjCzLvTdfxXyJlorQtlZ9\nTVzGt02OYBxQpJcnUXFjoKnp52i"
    "QCiVIdnJNtPxh/T8ee4yFg7lQjeFkVb1WErlr\nRy1qW7r6/tcx7I5KvTis7QoLDAtiNb3eGbg22mSH03g4ay191Mb/"
    "3KBmx5LHjXZX\neOBsBYqsu/GQ3+FDjDUxfsXoweKuJl9gHf7hNQlf/3VbB0yv2iNGr3fHhxr77TjK\n/j1DacjAxODc"
    "GbtO4xFvFAB0sw==\n-----END CERTIFICATE-----\n";

__attribute__((unused)) static const char hook_key_set[] =
    "{\"keys\": [{\"kty\": \"RSA\", \"alg\": \"RS256\", \"use\": \"sig\", \"kid\": \"k1\", \"n\": \"pBvLoaNQwrw2vrn5"
    "El6MCHp646LBZGRo7kr3lvaOU8GVJ6pAKNOFjdsgijcJg0pL8F0i6IXLmUUuQOhCAiBr39bBeNsuZAtbz53vDVu0jD"
    "F_7Q6T6jrNZgVI6wlPzP8otctMRnvruKv2R00A_bokgNnVzbq3_Qz2tCmtL8x6DJpS407XwBTVIMUC3EGHKwDCfh_a"
    "7WK4C_oG0ADzX2WlmpVCP6Q9JG8onJYr93L4Z_lDddNi3W77WCAfsH2tS012v7BDy26KHF8z8sfqJ7dFPwALNW6dJg"
    "tpqSIA1J4sH0OTzPwsIoIKNNxrM6XqiMK1X3B0xMaUtp-P8pJhoq9O_Q\", \"e\": \"AQAB\"}]}";

__attribute__((unused)) static const char hook_token[] =
    "eyJhbGciOiAiUlMyNTYiLCAia2lkIjogImsxIiwgInR5cCI6ICJKV1QifQ.eyJpc3MiOiAiaHR0cHM6Ly9hY2NvdW5"
    "0cy5nb29nbGUuY29tIiwgImF1ZCI6ICJodHRwczovL2UuZXhhbXBsZS9ob29rcy9tYXBzIiwgImVtYWlsIjogInB1c"
    "2hAcC5pYW0uZ3NlcnZpY2VhY2NvdW50LmNvbSIsICJlbWFpbF92ZXJpZmllZCI6IHRydWUsICJpYXQiOiAxNzc5OTk"
    "5OTkwLCAiZXhwIjogMTc4MDAwMzU5MH0.n6YE9YdnqODsUEwmmHFXMe-z0T8Cq0iJMNDEWkFpvLlpUtFRxZMQdwDxU"
    "2r8RSQsqD48EvNEOwa8tFbYhMoNs542LGr2eb-EcT6NTgNf2PFZmevNMEerbNB8AN4bbFxd-1QvDvC3zTZhdx5h43t"
    "3lWVcKgpqDL3JukE834OtRVcSO_tAM1FGwylQhSCQU-Jsf_pVfRLPHwPpGQXAoDmrsd8Xpw8_zFY17jrWBa44moAC-"
    "9ORsnWztT5XaQPXbyZpWIHuU56yNhBLvRd3XqIKa7ivZsqJuBfOGqlSR5W8awyCqfQCfnqH61T5MB0iKkrKhSgWf2l"
    "36uREnBH6cE-bbA";

#endif
